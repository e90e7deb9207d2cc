export class EngineException extends Error {
  readonly engineCode: number
  readonly engineType: string

  constructor(engineCode: number, engineType: string, message: string) {
    super(message)
    this.engineCode = engineCode
    this.engineType = engineType
  }

  /** Whether a part on disk is damaged. A query cannot forge this message: its own text never comes first. */
  get isOfBrokenPart(): boolean {
    return /^Code: 246\. DB::Exception: (?:Empty|Bad size of) marks file /.test(this.message)
  }

  get text(): string {
    const { message, engineCode, engineType } = this
    return message.startsWith('Code: ')
      ? `${message}\n`
      : `Code: ${engineCode}. DB::Exception: ${message} (${engineType})\n`
  }
}

const exception = (code: number, type: string, text: string) => new EngineException(code, type, text)

export const exceptions = {
  badRequest: (message: string) => exception(36, 'BAD_ARGUMENTS', message),
  severalStatements: () => exception(62, 'SYNTAX_ERROR', 'Syntax error: several statements are not allowed.'),
  readOnly: (verb: string) =>
    exception(164, 'READONLY', `Only statements that read are allowed, not "${verb}".`),
  parameterMissing: (name: string) =>
    exception(456, 'UNKNOWN_QUERY_PARAMETER', `Substitution \`${name}\` is not set.`),
  timeout: (seconds: number) =>
    exception(159, 'TIMEOUT_EXCEEDED', `Timeout exceeded: maximum ${seconds} seconds.`),
  resultTooLarge: () => exception(396, 'TOO_MANY_ROWS_OR_BYTES', 'Limit for result exceeded.'),
  tooMany: () => exception(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', 'Too many simultaneous queries.'),
  notWritten: () => exception(243, 'NOT_ENOUGH_SPACE', 'The insert was not written to disk.'),
  tableDropped: (table: string) =>
    exception(60, 'UNKNOWN_TABLE', `Table ${table} was dropped during the insert.`),
  notImplemented: (what: string) =>
    exception(48, 'NOT_IMPLEMENTED', `${what} is not supported by this interface.`),
}

const nativeForm = /^Code: (\d+)\. .*\(([A-Z_0-9]+)\)\s*$/s

/** Converts an error of the binding; any other error is a bug in the host. */
export function fromNative(error: unknown): EngineException {
  if (error instanceof EngineException) return error
  const message = error instanceof Error ? error.message : String(error)
  const [, code, type] = nativeForm.exec(message) ?? []
  return code === undefined || type === undefined
    ? new EngineException(1001, 'STD_EXCEPTION', message)
    : new EngineException(Number(code), type, message.trim())
}
