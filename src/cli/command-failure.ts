/** 1 also means that a check found problems. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const

/** Ends a command with a message for the user; an empty message if everything is already printed. */
export class CommandFailure extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = exitCodes.failed, options?: { cause?: unknown }) {
    super(message, options)
    this.exitCode = exitCode
  }
}

export function usageFailure(message: string): CommandFailure {
  return new CommandFailure(message, exitCodes.usage)
}
