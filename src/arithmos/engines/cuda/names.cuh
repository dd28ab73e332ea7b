// Names of the parts and of the places in a run's state; the generated configuration speaks in them.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

enum { FREE, CLAMP, TANH_SIGMOID, SIGMOID };
enum { SUM, EXP_LOG, PRODUCT };
enum { IDENTITY, RELU, RELU6 };
enum { NO_SPARSITY, SIGNED, UNSIGNED };
enum { MUL, DIV, ADD, SUB, ROOT, SQUARED };
enum { UNIT, SHIFTED, SCALED, TWO_PARTS, ROWS };

// Counts and errors of a run, as the host reads them.
// SOLVED is the first of as many as there are thresholds.
enum { STEP, RECORDS, BEST_STEP, CURVE, ENDED, SOLVED };
enum { BEST_VALIDATION, BEST_TEST, BEST_SPARSITY, BEST_GATE, END_VALIDATION, END_TEST, END_SPARSITY, ERRORS };
enum { RUNNING, FINISHED, MET_NAN };

// What all runs of a launch share. Pointers first, then 8-byte, then 4-byte values: no padding.
struct Settings {
    const u32* seeds;           // [slot]
    const int* subsets;         // [slot, SUBSETS] first input of each
    const int* sets;            // [slot] which targets of the fixed sets are this run's
    const float4* validation;   // [i / 4, row]
    const float4* test;         // [i / 4, row]
    const float* validation_t;  // [set, row, o]
    const float* test_t;        // [set, row, o]
    const float4* rows;         // [row, i / 4] training rows of a user's data
    const float* rows_t;        // [row, o]
    const float2* adam;         // [step] lr / (1 - beta1^t), 1 / sqrt(1 - beta2^t)
    const int* curve_records;   // [curve]
    float* parameters;          // [slot, p]
    float* first;               // [slot, p] Adam's moments
    float* second;
    float* best;                // [slot, p]
    float* curve;               // [slot, curve, 3]
    float* errors;              // [slot, ERRORS]
    i64* counts;                // [slot, SOLVED + threshold_count]
    const double* thresholds;   // [threshold]
    i64 iterations, ramp_start;
    u32 every, validation_rows, test_rows, row_count, adam_steps, curve_length, threshold_count;
    int operation;
    float gain1, beta2, gain2, epsilon;
    float strength, ramp_offset, ramp_slope;
    float width[2], low[2];
};
