// The rules of the displayed game, as a form.

const GROUPS = [
  ["How often threats move", (name) => name.startsWith("period_ticks") || name.startsWith("phase_clocks")],
  ["What threats see", (name) => name.endsWith("_view") || name.startsWith("owl_")],
  ["Choices and paths", (name) => name.endsWith("_order") || ["first_seed", "pick_scale", "deer_shy_distance_squared"].includes(name)],
  ["Hawks", (name) => name.startsWith("hawk_") && name !== "hawk_view"],
  ["Messages to bots", (name) => name.startsWith("wire.")],
];

const label = (value) => (Array.isArray(value) ? value.join(", ") : String(value));

class RulesForm {
  constructor(session, client, server) {
    Object.assign(this, { session, client, server, rules: server });
    element("no-jump").addEventListener("change", ({ target }) => this.change({ ...this.rules, no_jump: target.checked }));
    click("rules-reset", () => this.change(this.server));
    session.addEventListener("game", () => session.game && this.show(session.game.rules));
  }

  async show(rules) {
    this.rules = rules;
    const { fields, differences } = await this.client.json("rules", rules);
    if (this.rules !== rules) return;
    element("no-jump").checked = rules.no_jump;
    element("rules-summary").textContent = differences.length ? `Differs from the server: ${differences.join("; ")}.` : "These are the server's rules.";
    const focused = document.activeElement?.id;
    const group = ([title, belongs]) => make("fieldset", {}, make("legend", {}, title), ...fields.filter(({ name }) => belongs(name)).map((field) => this.row(field)));
    element("rules-fields").replaceChildren(...GROUPS.map(group));
    if (focused?.startsWith("rule-")) element(focused)?.focus();
  }

  row({ name, value, options, sentence, is_changed: isChanged }) {
    const option = (choice, number) => make("option", { value: number, selected: label(choice) === label(value) }, label(choice));
    const number = { type: "number", step: Number.isInteger(value) ? "1" : "any", value };
    const input = options.length ? make("select", {}, ...options.map(option)) : make("input", number);
    input.id = `rule-${name}`;
    input.addEventListener("change", () => this.change(this.changed(name, options.length ? options[input.value] : Number(input.value))));
    const text = name.replaceAll("_", " ").replace(".", ": ");
    return make("label", { className: isChanged ? "rule changed" : "rule" }, make("span", {}, text), input, make("small", {}, sentence));
  }

  changed(name, value) {
    const [outer, inner] = name.split(".");
    return { ...this.rules, [outer]: inner ? { ...this.rules[outer], [inner]: value } : value };
  }

  async change(rules) {
    const { session, rules: before } = this;
    const index = session.isDemo ? 0 : session.index;
    // A late answer about earlier rules must not change the form.
    [this.rules, session.isDemo] = [rules, false];
    try {
      await this.client.json("rules", rules);
      if (session.game) await session.open({ ...session.game, rules }, index);
      else await this.show(rules);
      showBanner("");
    } catch (error) {
      showBanner(error.message);
      this.show(before);
    }
  }
}
