// Included after the kernel: runs its blocks one after the other on fibers, shared memory poisoned before each.
#pragma once

static Settings launch_settings;
static const int* launch_slots;
static i64 launch_chunk;

extern "C" void launch(int blocks, int threads, const Settings* settings, const int* slots, i64 chunk) {
    launch_settings = *settings;
    launch_slots = slots;
    launch_chunk = chunk;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        for (float4& cell : memory) {
            const float poison = std::numeric_limits<float>::signaling_NaN();
            cell = {poison, poison, poison, poison};
        }
        shim::run_block(threads, [] { train(launch_settings, launch_slots, launch_chunk); });
    }
}
