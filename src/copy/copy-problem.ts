/** The copy cannot begin or end, for a reason that the user can fix. */
export class CopyProblem extends Error {}
