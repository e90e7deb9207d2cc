/** A choice of the user, kept in the browser. A frame of another site may not be allowed to read it. */
export function readPreference(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}
