"use strict";
/* The workbench. Its state is a scenario as text, the one that is pinned, and the question that is asked; the address holds all
   of it. The server computes and draws, report.js shows. */

const START = `schema: tsim/v1
name: workbench
model: llama2-70b
cluster:
  node: dgx-h100
  nodes: 16
  fabric: ib-ndr
training:
  sequence_length: 4096
  global_batch_size: 512
  micro_batch_size: 1
  precision: bf16
  tokens: 2 T
parallelism:
  tensor: 8
  pipeline: 4
  virtual_pipeline: 5
  sequence: true
  zero: 1
energy: {price: 0.10 USD/kWh, carbon: 0.4 kg/kWh, pue: 1.1}
`;
const TABS = ["run", "scale", "plan", "buy", "campaign", "sweep", "accuracy", "runs"];
const state = {
  text: START,
  pinned: null,
  tab: "run",
  asked: {}
};
let schema = {properties: {}}, catalogue = {}, resolved = {}, extra = [];

const byId = id => document.getElementById(id), say = (text, isWarning) => {
  byId("state").textContent = text;
  byId("state").className = isWarning ? "warn" : "";
};
