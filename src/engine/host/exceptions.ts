/** An error in the words of ClickHouse's HTTP interface: a code, a name and a text. */
export class EngineException extends Error {
  readonly engineCode: number
  readonly engineType: string

  constructor(engineCode: number, engineType: string, message: string) {
    super(message)
    this.engineCode = engineCode
    this.engineType = engineType
  }

  /** Whether files of the data are not what the engine wrote. No query can make this error: their texts come later. */
  get isOfBrokenPart(): boolean {
    return /^Code: 246\. DB::Exception: (?:Empty|Bad size of) marks file /.test(this.message)
  }

  /** The body of an answer that failed. */
  get text(): string {
    const { message, engineCode, engineType } = this
    return message.startsWith('Code: ')
      ? `${message}\n`
      : `Code: ${engineCode}. DB::Exception: ${message} (${engineType})\n`
  }
}

export const exceptions = {
  badRequest: (message: string) => new EngineException(36, 'BAD_ARGUMENTS', message),
  severalStatements: () =>
    new EngineException(62, 'SYNTAX_ERROR', 'Syntax error: several statements are not allowed.'),
  readOnly: (verb: string) =>
    new EngineException(
      164,
      'READONLY',
      `Only queries that read are taken here; this one begins with "${verb}".`,
    ),
  parameterMissing: (name: string) =>
    new EngineException(456, 'UNKNOWN_QUERY_PARAMETER', `Substitution \`${name}\` is not set.`),
  timeout: (seconds: number) =>
    new EngineException(159, 'TIMEOUT_EXCEEDED', `Timeout exceeded: maximum ${seconds} seconds.`),
  tooMany: () => new EngineException(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', 'Too many simultaneous queries.'),
  notWritten: () =>
    new EngineException(243, 'NOT_ENOUGH_SPACE', 'The disk did not take what was written to it.'),
  tableDropped: (table: string) =>
    new EngineException(60, 'UNKNOWN_TABLE', `Table ${table} was dropped during the insert.`),
  wrongPassword: () =>
    new EngineException(516, 'AUTHENTICATION_FAILED', 'Authentication failed: password is incorrect.'),
  notImplemented: (what: string) =>
    new EngineException(48, 'NOT_IMPLEMENTED', `${what} is not part of this interface.`),
}

const nativeForm = /^Code: (\d+)\. .*\(([A-Z_0-9]+)\)\s*$/s

/** Makes one of the binding's errors into an exception; anything else is a fault of the host. */
export function fromNative(error: unknown): EngineException {
  if (error instanceof EngineException) return error
  const message = error instanceof Error ? error.message : String(error)
  const match = nativeForm.exec(message)
  return match
    ? new EngineException(Number(match[1]), match[2] as string, message.trim())
    : new EngineException(1001, 'STD_EXCEPTION', message)
}
