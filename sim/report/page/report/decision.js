/* A decision to rent, reserve or buy. */

function showDecision(d) {
  const a = el("article", {}), choice = d.decision, range = rangeText;
  const chance = c => has(c) ? (c < 0.025 ? "under 5 %" : `${Math.round(100 * c)} %`) : "-",
        cluster = o => `${count(o.nodes)} x ${o.node}${o.fabric && o.nodes > 1 ? `, ${o.fabric}` : ""}`;
  a.append(
      el("h1", {}, choice.action === "none" ? "Nothing reaches the goal" : `${choice.action} ${cluster(choice)}`),
      el("p", {className: "soft"}, d.goal.text));
  main.append(a);
  if (d.interrupted) a.append(el("p", {className: "warn"}, "The search was interrupted: this is the best so far."));
  for (const text of d.misses || []) a.append(el("p", {className: "warn"}, text));
  if (!has(choice.nodes)) return;
  const rough = x => supported({p10: 0.9 * x, p90: 1.1 * x}, x, usd), /* prices of a whole cluster: two digits */
      network = o => o.capital.network_usd > 0 ? `network ${rough(o.capital.network_usd)}, ` : "",
        capital = o => has(o.capital_usd)
      ? `${rough(o.capital_usd)}: nodes ${rough(o.capital.nodes_usd)}, ${network(o)}storage ${
            rough(o.capital.storage_usd)}, its share of the facility's lifetime ${rough(o.capital.facility_usd)}`
      : "not known: it cannot be bought";
  const longer = r => !has(r)  ? "not simulated"
      : Math.abs(r - 1) < 5e-4 ? "the same"
                               : (r > 1 ? "+" : "") + percent(r - 1);
  const model = d.proposal ? [[
    "model",
    `${amount(d.proposal.parameters)} parameters on ${amount(d.proposal.tokens)} tokens, expected loss ${
        digits(d.proposal.loss.p50)}`
  ]]
                           : [];
  a.append(pairs([
    ...model, ["plan", choice.plan], ["chance of the goal", chance(choice.chance_of_both)],
    ["chance of the date", chance(choice.chance_in_time)], ["chance of the budget", chance(choice.chance_in_budget)],
    ["time, in eight of ten cases", daysText(choice.days)],
    ["cost, in eight of ten cases", range(choice.cost_usd, usd)],
    ["energy, in eight of ten cases", range(choice.energy_kwh, kwh => `${amount(1e3 * kwh)}Wh`)],
    ["price", choice.price], [choice.action === "buy" ? "capital" : "capital if it were bought", capital(choice)],
    [
      "evidence",
      `${choice.evidence === "similar" ? "partial" : choice.evidence}: ${count(choice.measured_runs)} measured run${
          choice.measured_runs === 1 ? "" : "s"} on this accelerator, ${
          count(choice.similar_runs)} of them with such a model and this software`
    ]
  ]));
  if (drawings.querySelector(`#${d.id}offers svg`))
    chart(
        part(
            a, "What it takes",
            el("p", {className: "soft"},
               "A bar covers eight of ten cases, its dot is the middle case. The decision stands above its alternatives.")),
        d.id + "offers");
  if (d.alternatives.length)
    part(a, "The runners-up: other machines, another size, other ways to get it")
        .append(table(
            [
              {title: "", text: true, of: o => o.action}, {title: "cluster", text: true, whole: true, of: cluster},
              {title: "days", of: o => supportedDays(o.days, o.days.p50)},
              {title: "cost", of: o => supported(o.cost_usd, o.cost_usd.p50, usd)},
              {title: "chance", of: o => chance(o.chance_of_both)}, {title: "why not", text: true, of: o => o.why_not}
            ],
            d.alternatives));
  if ((d.fabrics || []).length)
    part(a, "The network, and other fabrics of the same speed")
        .append(table(
            [
              {title: "fabric", text: true, of: f => f.fabric},
              {title: "step", of: f => f.is_own ? "" : longer(f.step_ratio)}, {title: "tiers", of: f => f.tiers},
              {title: "switches", of: f => count(Math.ceil(f.switches))},
              {title: "links", of: f => count(Math.ceil(f.links))}, {
                title: "price",
                of: f => f.network_high_usd > 1.02 * f.network_low_usd
                    ? `${rough(f.network_low_usd)} to ${rough(f.network_high_usd)}`
                    : rough(f.network_usd)
              },
              {
                title: "source of the switch's price",
                text: true,
                of: f => f.price_source ? `${f.price_status}: ${f.price_source}` : ""
              }
            ],
            [Object.assign({fabric: choice.fabric, is_own: true}, d.network), ...d.fabrics]));
  if (d.flips.length) part(a, "What would change the decision", el("ul", {}, d.flips.map(text => el("li", {}, text))));
}
