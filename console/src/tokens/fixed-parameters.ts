import { parameterForm } from '../../../src/shared/names.ts'

/** A row of the form. Empty rows are ignored. */
export interface Pair {
  name: string
  value: string
}

type ReadPairs =
  | { parameters: Record<string, string>; problem?: undefined }
  | { parameters?: undefined; problem: { index: number; message: string } }

/**
 * Fixed parameters as the service expects them. An invalid row is an error and never ignored: without it the token would be
 * allowed more than intended.
 */
export function readPairs(pairs: readonly Pair[]): ReadPairs {
  const parameters: Record<string, string> = Object.create(null)
  for (const [index, pair] of pairs.entries()) {
    const name = pair.name.trim().replace(/^@/, '')
    if (name === '' && pair.value === '') continue
    const message =
      name === ''
        ? 'Enter the name of the parameter.'
        : !parameterForm.test(name)
          ? `“${name}” is not a parameter name. Use at most 64 letters, digits and _, starting with a letter.`
          : Object.hasOwn(parameters, name)
            ? `${name} is declared twice.`
            : name === 'project'
              ? 'Use the field Project instead.'
              : undefined
    if (message !== undefined) return { problem: { index, message } }
    parameters[name] = pair.value
  }
  return { parameters: { ...parameters } }
}
