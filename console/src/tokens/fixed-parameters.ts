/** A line of the form: it counts once anything is in it. */
export interface Pair {
  name: string
  value: string
}

export type ReadPairs =
  | { parameters: Record<string, string>; problem?: undefined }
  | { parameters?: undefined; problem: { index: number; message: string } }

/**
 * Fixed parameters as they go to the service. A line that cannot be read is told, never left out: without it the token
 * could do more than its maker meant.
 */
export function readPairs(pairs: readonly Pair[]): ReadPairs {
  const parameters: Record<string, string> = Object.create(null)
  for (const [index, pair] of pairs.entries()) {
    const name = pair.name.trim().replace(/^@/, '')
    if (name === '' && pair.value === '') continue
    const message =
      name === ''
        ? 'Which parameter has this value?'
        : !/^[A-Za-z]\w*$/.test(name)
          ? `“${name}” cannot be the name of a parameter: letters, digits and _ only.`
          : Object.hasOwn(parameters, name)
            ? `${name} is there twice.`
            : name === 'project'
              ? 'The project has a field of its own.'
              : undefined
    if (message !== undefined) return { problem: { index, message } }
    parameters[name] = pair.value
  }
  return { parameters: { ...parameters } }
}
