export const changeKinds = [
  'endpoint_renamed',
  'description_changed',
  'query_changed',
  'parameter_added',
  'parameter_removed',
  'parameter_required',
  'parameter_optional',
  'parameter_default_changed',
  'parameter_type_changed',
  'parameter_values_added',
  'parameter_values_removed',
  'parameter_empty_changed',
  'parameter_description_changed',
  'column_added',
  'column_removed',
  'column_renamed',
  'column_type_changed',
  'columns_reordered',
  'max_rows_raised',
  'max_rows_lowered',
  'sandbox_on',
  'sandbox_off',
  'sandbox_view_added',
  'sandbox_view_removed',
  'cache_changed',
  'timeout_changed',
] as const

export type ChangeKind = (typeof changeKinds)[number]

/** One thing that callers of an endpoint may notice, and whether it can break what they have written. */
export interface ContractChange {
  kind: ChangeKind
  breaking: boolean
  /** A sentence for people. */
  message: string
  parameter?: string
  column?: string
}

type About = Pick<ContractChange, 'parameter' | 'column'>

export function breaking(kind: ChangeKind, message: string, about: About = {}): ContractChange {
  return { kind, breaking: true, message, ...about }
}

export function compatible(kind: ChangeKind, message: string, about: About = {}): ContractChange {
  return { kind, breaking: false, message, ...about }
}
