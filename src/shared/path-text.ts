const keyBeforeDot = /(?:"((?:[^"\\]|\\.)+)"|([^.]*))\./gsy

/** The keys of a path as text: a key with dots is in quotes, or has %2E in their place. */
export function keysOf(path: string): string[] {
  const keys = [...`${path}.`.matchAll(keyBeforeDot)]
  return keys.map(([, quoted, plain = '']) =>
    quoted === undefined ? plain.replace(/%2E/gi, '.') : quoted.replace(/\\(.)/gs, '$1'),
  )
}

/** The one form in which paths are stored and compared: `attributes.http%2Eroute`. */
export const pathOf = (keys: readonly string[]) => keys.map((key) => key.replaceAll('.', '%2E')).join('.')

/** The form that people read: `attributes."http.route"`. */
export function shownPath(path: string): string {
  const shown = (key: string) => (/^[^\s".:()\\]+$/.test(key) ? key : `"${key.replace(/["\\]/g, '\\$&')}"`)
  return keysOf(path).map(shown).join('.')
}
