// What the page's program must not do: make markup of text, run text, ask anything of anybody.

const markup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "cssText"];

export default [
  {
    files: ["**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "script" },
    rules: {
      "eqeqeq": ["error", "always", { null: "ignore" }],
      "max-lines": ["error", 250],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-restricted-globals": ["error", "XMLHttpRequest", "WebSocket", "EventSource", "localStorage"],
      "no-restricted-properties": [
        "error",
        ...markup.map((property) => ({ property })),
        { object: "document", property: "write" },
        { object: "document", property: "writeln" },
        { object: "navigator", property: "sendBeacon" },
      ],
    },
  },
];
