const keyBeforeDot = /(?:"((?:[^"\\]|\\.)+)"|([^.]*))\./gsy

/** The keys of a path: a key with dots is in quotes, or has %2E in their place. */
export function keysOf(path: string): string[] {
  return [...`${path}.`.matchAll(keyBeforeDot)].map(([, quoted, plain = '']) =>
    quoted === undefined ? plain.replace(/%2E/gi, '.') : quoted.replace(/\\(.)/gs, '$1'),
  )
}

/** The form in which the service stores paths: a dot inside a key is `%2E`. */
export function pathOf(keys: readonly string[]): string {
  return keys.map((key) => key.replaceAll('.', '%2E')).join('.')
}

/** The form that people read and write: `attributes."http.route"`. */
export function shownPath(path: string): string {
  return keysOf(path)
    .map((key) => (/^[^\s".:()\\]+$/.test(key) ? key : `"${key.replace(/["\\]/g, '\\$&')}"`))
    .join('.')
}
