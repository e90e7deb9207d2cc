import { randomUUID } from 'node:crypto'

/** The id that the caller chose, if it can be one, or a new one. */
export function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
}
