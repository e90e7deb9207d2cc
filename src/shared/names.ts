/** The form of names of sources, tables and typed columns. */
export const sourceForm = /^[a-z][a-z0-9_]{0,63}$/

/** The form of names of endpoints and plans. */
export const endpointForm = /^[A-Za-z][A-Za-z0-9._-]{0,127}$/

/** The form of names of parameters. */
export const parameterForm = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** The parameter that a value of a dashboard stands for, such as `@status`. */
export function referenceIn(value: string): string | undefined {
  const name = value.slice(1)
  return value.startsWith('@') && parameterForm.test(name) ? name : undefined
}
