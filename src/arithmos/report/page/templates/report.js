"use strict";

const byId = (id) => document.getElementById(id);

// Data and Vega are in the page, compressed, and unpacked when they are needed.

function unpacked(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
const embedded = async (id) => JSON.parse(await unpacked(id));

let vega = null;
const loadVega = () => (vega ??= unpacked("vega").then((text) => document.head.append(element("script", text))));

const element = (name, text, attributes = {}) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(text);
  return made;
};
const phone = matchMedia("(max-width: 60rem)");

// Figures are drawn when they come into view, with their panels stacked on narrow screens.

function stacked(spec) {
  for (const part of [...(spec.hconcat ?? []), ...(spec.vconcat ?? []), ...(spec.concat ?? [])]) stacked(part);
  if (spec.hconcat) {
    spec.vconcat = spec.hconcat;
    delete spec.hconcat;
  }
  if (spec.concat) spec.columns = 1;
  return spec;
}

async function draw(holder, spec) {
  const { role, ariaLabel } = holder; // Vega would overwrite them
  await loadVega();
  const result = await vegaEmbed(holder, phone.matches ? stacked(spec) : spec, {
    mode: "vega-lite",
    renderer: "svg", // inherits its colors from the page, light or dark
    actions: false,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    logLevel: 1, // errors only: a layer without data is not one
  });
  Object.assign(holder, { role, ariaLabel, ariaRoleDescription: null });
  holder.querySelector("svg").ariaHidden = "true"; // the holder has a label, and a table holds the numbers
  holder.view = result.view;
}

function highlight(holder, selection, field, value) {
  const tuples = value ? [{ unit: "", fields: [{ type: "E", field }], values: [value] }] : [];
  return holder.view.data(`${selection}_store`, tuples).runAsync();
}

const drawFigure = async (holder) => draw(holder, await embedded(`chart-${holder.dataset.chart}`));
const figures = [...document.querySelectorAll("[data-chart]")];
const watch = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      drawFigure(target);
    }
  },
  { rootMargin: "50% 0px" },
);
figures.forEach((holder) => watch.observe(holder));
phone.addEventListener("change", () => figures.filter((holder) => holder.view).forEach(drawFigure));

for (const select of document.querySelectorAll("[data-highlight]")) {
  const holder = document.querySelector(`[data-chart="${select.dataset.highlight}"]`);
  select.addEventListener("change", async () => {
    if (!holder.view) await drawFigure(holder);
    highlight(holder, "model", "label", select.value);
  });
}

// A click on a title sorts a matrix by its column, the highest rate first.

for (const table of document.querySelectorAll("[data-sortable]")) {
  const [body] = table.tBodies;
  [...[...table.tHead.rows].at(-1).cells].forEach((title, column) => {
    if (!column) return;
    const button = element("button", title.textContent, { type: "button" });
    title.replaceChildren(button);
    button.addEventListener("click", () => {
      const value = (row) => Number(row.cells[column].dataset.value);
      body.append(...[...body.rows].sort((a, b) => value(b) - value(a)));
      for (const other of title.parentNode.cells) other.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", "descending");
    });
  });
}

// Before printing, everything is drawn and opened.

const undrawn = () => figures.filter((holder) => !holder.view);
addEventListener("beforeprint", () => {
  undrawn().forEach(drawFigure);
  for (const details of document.querySelectorAll("details")) details.open = true;
});
byId("print").addEventListener("click", async () => {
  await Promise.all(undrawn().map(drawFigure));
  print();
});

// Single runs.

const raised = (power) => power.replace(/./g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));
function short(value) {
  if (value === null) return "not a number";
  if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5)) return String(Number(value.toPrecision(3)));
  const [mantissa, power] = value.toExponential(1).split("e");
  return `${mantissa}·10${raised(power.replace("+", ""))}`;
}
const runName = (run) => `seed ${run.seed}, ${run.solved ? "solved" : "not solved"}`;

function tableOf(caption, header, rows) {
  const table = element("table", element("caption", caption));
  const cells = (names) => names.map((name) => element("th", name, { scope: "col" }));
  table.createTHead().insertRow().append(...cells(header));
  const body = table.createTBody();
  for (const [first, ...rest] of rows) {
    body.insertRow().append(element("th", first, { scope: "row" }), ...rest.map((value) => element("td", value)));
  }
  return table;
}

function fillCurves(template, { threshold, runs }) {
  const names = new Map(runs.map((run, number) => [`<name of run ${number}>`, runName(run)]));
  const spec = JSON.parse(JSON.stringify(template), (_, value) => {
    if (Array.isArray(value)) return value.filter(() => true); // drops the names of absent runs
    return typeof value === "string" && value.startsWith("<name of run") ? names.get(value) : value;
  });
  const records = runs.flatMap((run) =>
    ["test", "validation", "sparsity"].flatMap((error) =>
      run.step
        .map((step, number) => ({ run: runName(run), step, error, value: run[error][number] }))
        .filter(({ step, value }) => step > 0 && value > 0),
    ),
  );
  for (const [name, rows] of Object.entries(spec.datasets)) {
    spec.datasets[name] = "run" in rows[0] ? records : [{ ...rows[0], value: threshold }];
  }
  return spec;
}

function matricesOf({ arrays }, run) {
  let position = 0;
  return arrays.map(([name, outputs, inputs]) => {
    const values = run.weights.slice(position, (position += outputs * inputs)).map((value) => value / 1000);
    const rows = Array.from({ length: outputs }, (_, o) => values.slice(o * inputs, (o + 1) * inputs));
    return { name, outputs, inputs, rows };
  });
}

function fillWeights({ panels, config }, matrices) {
  const datasets = {};
  const vconcat = matrices.map(({ name, outputs, inputs, rows }, number) => {
    const panel = structuredClone(panels[`${outputs}×${inputs}`]);
    panel.title.text = name;
    panel.data = { name: `matrix ${number}` };
    datasets[panel.data.name] = rows.flatMap((row, o) =>
      row.map((weight, i) => ({ array: name, output: o, input: i, weight })),
    );
    return panel;
  });
  return { datasets, vconcat, config };
}

function factsOf(run, { threshold }) {
  const first = run.solved_at < 0 ? "never below it" : `first below it at step ${run.solved_at.toLocaleString("en")}`;
  return [
    `${runName(run)}, ${run.engine} engine: test error ${short(run.test_error)} at the best record,`,
    `step ${run.best_step.toLocaleString("en")}; threshold ${short(threshold)}, ${first};`,
    `sparsity error ${short(run.sparsity_error)}${run.gate === null ? "" : `, gate ${short(run.gate)}`}`,
    run.ended_early ? "; ended early on NaN." : ".",
  ].join(" ").replace(" ;", ";").replace(" .", ".");
}

async function startPicker() {
  const [experiment, cell, run] = ["experiment", "cell", "run"].map((name) => byId(`pick-${name}`));
  const curves = byId("run-curves");
  const { experiments, specs, columns, ...charts } = await embedded("data-runs");
  const row = (number) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[number]]));
  for (const spec of Object.values(specs)) spec.runs = spec.runs.map(row);
  const choose = (select, names) => select.replaceChildren(...names.map(([value, text]) => new Option(text, value)));

  function pickExperiment() {
    choose(cell, experiments[experiment.value].cells);
    return pickCell();
  }
  async function pickCell() {
    const spec = specs[cell.value];
    choose(run, spec.runs.map((one, number) => [number, runName(one)]));
    byId("run-spec").textContent = JSON.stringify(JSON.parse(spec.spec), null, 1);
    await draw(curves, fillCurves(charts.curves, spec));
    return pickRun();
  }
  async function pickRun() {
    const spec = specs[cell.value];
    const one = spec.runs[run.value];
    const matrices = matricesOf(spec, one);
    byId("run-facts").textContent = factsOf(one, spec);
    const records = one.step.map((step, number) =>
      [step.toLocaleString("en"), ...["validation", "test", "sparsity"].map((name) => short(one[name][number]))],
    );
    byId("run-records").replaceChildren(
      tableOf(runName(one), ["Step", "Validation error", "Test error", "Sparsity error"], records),
    );
    byId("run-matrices").replaceChildren(
      ...matrices.map(({ name, inputs, rows }) =>
        tableOf(
          name,
          ["Output", ...Array.from({ length: inputs }, (_, i) => `Input ${i}`)],
          rows.map((row, o) => [String(o), ...row.map(String)]),
        ),
      ),
    );
    if (spec.runs.length > 1) await highlight(curves, "run", "run", runName(one));
    if (matrices.length) await draw(byId("run-weights"), fillWeights(charts, matrices));
    else byId("run-weights").replaceChildren("This network has no weights other than those of its CNN.");
  }
  async function pickSpec(id) {
    const place = experiments.findIndex(({ cells }) => cells.some(([spec]) => spec === id));
    if (place < 0) return;
    experiment.value = place;
    choose(cell, experiments[place].cells);
    cell.value = id;
    await pickCell();
  }

  choose(experiment, experiments.map(({ name, title }, number) => [number, `${name}: ${title}`]));
  experiment.addEventListener("change", pickExperiment);
  cell.addEventListener("change", pickCell);
  run.addEventListener("change", pickRun);
  pickExperiment();
  return pickSpec;
}

let picker = null;
const startedPicker = () => (picker ??= startPicker());
if (byId("picker")) {
  byId("picker").addEventListener("submit", (event) => event.preventDefault());
  const watchRuns = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    watchRuns.disconnect();
    startedPicker();
  }, { rootMargin: "50% 0px" });
  watchRuns.observe(byId("picker"));
  for (const link of document.querySelectorAll("a[data-spec]")) {
    link.addEventListener("click", () => startedPicker().then((pickSpec) => pickSpec(link.dataset.spec)));
  }
}

// Downloads.

// A spreadsheet would take text that starts with one of these for a formula; a leading quote prevents that.
const inert = (value) => (typeof value === "string" && /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : String(value ?? ""));
const quoted = (value) => (/[",;\t\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

function written({ columns, rows }, as) {
  if (as === "csv") {
    return [columns, ...rows].map((row) => row.map((value) => quoted(inert(value))).join(",")).join("\r\n");
  }
  return JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]]))), null, 1);
}

for (const button of document.querySelectorAll("[data-table]")) {
  button.addEventListener("click", async () => {
    const { table, as } = button.dataset;
    const type = as === "csv" ? "text/csv" : "application/json";
    const href = URL.createObjectURL(new Blob([written(await embedded(`data-${table}`), as)], { type }));
    element("a", "", { href, download: `${table}.${as}` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  });
}

// The contents follow the scroll.

const contents = document.querySelector("nav");
const entries = [...contents.querySelectorAll("a")].map((link) => [link, byId(link.hash.slice(1))]);
function follow() {
  const [link] = entries.findLast(([, part]) => part.getBoundingClientRect().top < innerHeight / 3) ?? entries[0];
  if (link.ariaCurrent) return;
  for (const [other] of entries) other.removeAttribute("aria-current");
  link.ariaCurrent = "location";
  const { top, bottom } = link.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) contents.scrollTop += top - innerHeight / 2;
}
addEventListener("scroll", () => requestAnimationFrame(follow), { passive: true });
follow();

if (matchMedia("(max-width: 72rem)").matches) byId("contents").open = false;
