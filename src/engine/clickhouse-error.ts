/** An exception of ClickHouse, as its HTTP interface reports it. */
export class ClickHouseError extends Error {
  readonly code: number
  /** ClickHouse's name for the code. */
  readonly type: string | undefined

  constructor({ message, code, type }: { message: string; code: number; type?: string | undefined }) {
    super(message)
    this.code = code
    this.type = type
  }
}

/** Servers of a cluster wrap each other's exceptions, so both ends can be there several times. */
const opening = /^\s*(?:Code|Error): (\d+)\.? \S*Exception: /
const ending = /\s*\(([A-Z][A-Z0-9_]{2,})\)(?: \(version [^()]*(?:\([^()]*\))?\))?\.?\s*$/

/** Reads the text of an exception; undefined when something else answered, such as a proxy. */
export function readException(text: string): ClickHouseError | undefined {
  const code = opening.exec(text)?.[1]
  if (code === undefined) return undefined
  const type = ending.exec(text)?.[1]
  let message = text
  while (opening.test(message)) message = message.replace(opening, '')
  while (ending.test(message)) message = message.replace(ending, '')
  return new ClickHouseError({ message: message.trim(), code: Number(code), type })
}
