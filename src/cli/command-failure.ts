/** 1 also means that a check found something. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const

/** Ends a command with a sentence for the person who gave it; an empty one where everything is said already. */
export class CommandFailure extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = exitCodes.failed, options?: { cause?: unknown }) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** The command was not given as it can be understood. */
export function usageFailure(message: string): CommandFailure {
  return new CommandFailure(message, exitCodes.usage)
}
