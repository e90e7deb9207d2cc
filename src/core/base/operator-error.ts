/** The service cannot start, or a command cannot run, for a reason that the user can fix. */
export class OperatorError extends Error {}
