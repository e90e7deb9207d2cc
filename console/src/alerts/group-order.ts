import type { AlertGroup } from '../api/shapes.ts'

/** The values of the columns of a group. */
export const keyOf = (key: AlertGroup['key']) =>
  Object.values(key)
    .map((value) => (value === '' ? '(empty)' : String(value)))
    .join(', ')

const severity: readonly AlertGroup['state'][] = ['firing', 'failing', 'pending', 'ok']

/** Those that need attention first; otherwise in the order of the rows. */
export const bySeverity = <Group extends Pick<AlertGroup, 'state'>>(groups: readonly Group[]) =>
  groups.toSorted((one, other) => severity.indexOf(one.state) - severity.indexOf(other.state))
