import { invalidQuery } from '../../base/errors.ts'
import { integerOf, timeOf, type Value } from './value.ts'

export const units: Record<string, string> = {
  microsecond: 'Microsecond',
  millisecond: 'Millisecond',
  second: 'Second',
  minute: 'Minute',
  hour: 'Hour',
  day: 'Day',
  week: 'Week',
  isoweek: 'Week',
  month: 'Month',
  quarter: 'Quarter',
  year: 'Year',
}

export function intervalOf(count: Value, unit: string): Value {
  const name = units[unit.replace(/s$/, '')]
  if (name === undefined)
    throw invalidQuery(`INTERVAL needs a unit such as MINUTE, HOUR or DAY, not ${unit.toUpperCase()}.`)
  return { sql: `toInterval${name}(ifNull(${integerOf(count)}, 0))`, type: 'interval' }
}

const parts: Record<string, string> = {
  second: 'toSecond($)',
  minute: 'toMinute($)',
  hour: 'toHour($)',
  day: 'toDayOfMonth($)',
  dayofweek: 'toDayOfWeek($, 3)',
  dayofyear: 'toDayOfYear($)',
  week: 'toWeek($, 0)',
  isoweek: 'toISOWeek($)',
  month: 'toMonth($)',
  quarter: 'toQuarter($)',
  year: 'toYear($)',
  isoyear: 'toISOYear($)',
}

export function timePart(unit: string, of: Value): Value {
  if (unit === 'date') return { sql: `toDate(${timeOf(of)})`, type: 'date' }
  const engine = parts[unit]
  if (engine === undefined)
    throw invalidQuery(
      `EXTRACT does not support ${unit.toUpperCase()}. Use HOUR, DAY or another part of a date.`,
    )
  return { sql: engine.replace('$', () => timeOf(of)), type: 'int' }
}
