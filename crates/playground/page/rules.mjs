// The rules of the displayed game, as a form.

/* global element, showBanner */

const GROUPS = [
  ["How often threats move", (name) => name.startsWith("period_ticks") || name.startsWith("phase_clocks")],
  ["What threats see", (name) => name.endsWith("_view") || name.startsWith("owl_")],
  ["Choices and paths", (name) => name.endsWith("_order") || ["first_seed", "pick_scale", "deer_shy_distance_squared"].includes(name)],
  ["Hawks", (name) => name.startsWith("hawk_") && name !== "hawk_view"],
  ["Messages to bots", (name) => name.startsWith("wire.")],
];

const label = (value) => (Array.isArray(value) ? value.join(", ") : String(value));

export class RulesForm {
  constructor(session, client, server) {
    Object.assign(this, { session, client, server, rules: server });
    element("no-jump").addEventListener("change", ({ target }) => this.change({ ...this.rules, no_jump: target.checked }));
    element("rules-reset").addEventListener("click", () => this.change(this.server));
    session.addEventListener("game", () => {
      if (session.game) this.show(session.game.rules);
    });
  }

  async show(rules) {
    this.rules = rules;
    const { fields, differences } = await this.client.json("rules", rules);
    if (this.rules !== rules) return;
    element("no-jump").checked = rules.no_jump;
    element("rules-summary").textContent = differences.length ? `Differs from the server: ${differences.join("; ")}.` : "These are the server's rules.";
    const focused = document.activeElement?.id;
    element("rules-fields").replaceChildren(
      ...GROUPS.map(([title, belongs]) => {
        const [fieldset, legend] = ["fieldset", "legend"].map((tag) => document.createElement(tag));
        legend.textContent = title;
        fieldset.append(legend, ...fields.filter(({ name }) => belongs(name)).map((field) => this.row(field)));
        return fieldset;
      }),
    );
    if (focused?.startsWith("rule-")) element(focused)?.focus();
  }

  row({ name, value, options, sentence, is_changed: isChanged }) {
    const [row, text, explanation] = ["label", "span", "small"].map((tag) => document.createElement(tag));
    const input = document.createElement(options.length ? "select" : "input");
    input.id = `rule-${name}`;
    if (options.length) {
      input.append(
        ...options.map((option, number) => {
          const choice = document.createElement("option");
          choice.value = number;
          choice.textContent = label(option);
          choice.selected = label(option) === label(value);
          return choice;
        }),
      );
    } else {
      input.type = "number";
      input.step = Number.isInteger(value) ? "1" : "any";
      input.value = value;
    }
    row.className = isChanged ? "rule changed" : "rule";
    text.textContent = name.replaceAll("_", " ").replace(".", ": ");
    explanation.textContent = sentence;
    input.addEventListener("change", () => this.change(this.changed(name, options.length ? options[input.value] : Number(input.value))));
    row.append(text, input, explanation);
    return row;
  }

  changed(name, value) {
    const [outer, inner] = name.split(".");
    return { ...this.rules, [outer]: inner ? { ...this.rules[outer], [inner]: value } : value };
  }

  async change(rules) {
    const { session } = this;
    try {
      await this.client.json("rules", rules);
      if (session.game) {
        await session.open({ ...session.game, rules }, session.isDemo ? 0 : session.index);
        session.isDemo = false;
        session.emit("position");
      } else await this.show(rules);
      showBanner("");
    } catch (error) {
      showBanner(error.message);
      this.show(this.rules);
    }
  }
}
