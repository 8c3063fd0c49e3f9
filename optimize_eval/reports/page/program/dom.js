// @ts-check
// Elements are made here and nowhere else: text becomes text nodes, so what data says is never markup.

/** @typedef {Node | string | number | null | undefined | false | Array<any>} Child */

const SVG = "http://www.w3.org/2000/svg";
const SAFE_HREF = /^(#|\?[\w=&]*$)/; // in this page, or another run of its server
// Controls but for tab and line feed, what turns text around, what hides, other separators of lines.
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]/g;

/**
 * Show what cannot be seen, or turns text around: ⟦202E⟧.
 * @param {string} text
 */
function visible(text) {
  return text.replace(INVISIBLE, (sign) => `⟦${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
}

/**
 * @param {string} tag
 * @param {Record<string, any> | null} [props] attributes; `on` holds listeners
 * @param {...Child} children
 * @returns {HTMLElement}
 */
function h(tag, props, ...children) {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
function svg(tag, props, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  fill(element, props, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Record<string, any> | null | undefined} props
 * @param {Child[]} children
 */
function fill(element, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (/^on|^style$|^src/i.test(name) || (name === "href" && !SAFE_HREF.test(value))) {
      throw new Error(`no ${name} here`);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : visible(String(value)));
    }
  }
  append(element, children);
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(String(child)));
  }
}

/**
 * @param {Element} element
 * @param {...Child} children
 */
function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * Text of data: on its own, in the direction that it has.
 * @param {any} text
 * @param {string} [kind]
 */
function said(text, kind) {
  return h("bdi", { dir: "auto", class: kind }, text);
}

/**
 * @param {string} name
 * @param {string} text
 */
function section(name, text, ...rest) {
  return h("section", { class: `card ${name}` }, text && h("h2", null, text), ...rest);
}
