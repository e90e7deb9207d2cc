export const warningCodes = [
  'undeclared_parameter',
  'unused_parameter',
  'unknown_path',
  'cast_hides_missing',
  'alias_shadows_column',
  'unbounded_time',
  'current_time',
  'mixed_intervals',
  'no_order',
  'slow_path',
] as const

export type WarningCode = (typeof warningCodes)[number]

/** SQL that is valid but probably does not mean what its author intends. Line and column are in the typed SQL. */
export interface Warning {
  code: WarningCode
  message: string
  line: number
  column: number
}
