import { conditionsIn } from './conditions.ts'

const comparisonWord = /^(-?)([\p{L}_@$][\p{L}\p{N}_@$.-]*)(>=|<=|>|<|==?)(\d[\d.]*)$/u
const fieldCondition = /^(-?)([\p{L}_@$][^\s":()]*):(.*)$/su
const ownFields = ['project', 'id', 'message', 'event_message']

/** The query as it was probably meant: with a colon before a comparison, and with the closest names of fields. */
export function corrected(query: string, fields: readonly string[]): string | undefined {
  const conditions = conditionsIn(query) ?? []
  const known = [...ownFields, ...fields]
  const better = conditions.map((condition) => {
    const [, not, name, sign = '', number] = comparisonWord.exec(condition) ?? []
    if (name !== undefined)
      return `${not}${closest(name, known)}:${sign.startsWith('=') ? '' : sign}${number}`
    const [, minus, field, value] = fieldCondition.exec(condition) ?? []
    return field === undefined || fields.length === 0
      ? condition
      : `${minus}${closest(field, known)}:${value}`
  })
  const text = better.join(' ')
  return text === conditions.join(' ') ? undefined : text
}

/** The name itself where it is known, or nothing is similar. A short name may be the beginning or the end of a field. */
function closest(name: string, known: readonly string[]): string {
  const isMeant = (field: string) =>
    field === name ||
    field.endsWith(`.${name}`) ||
    field.startsWith(`${name}_`) ||
    field === `metadata.${name}`
  if (known.some(isMeant)) return name
  const ranked = known
    .map((field) => ({ field, distance: distance(name.toLowerCase(), field.toLowerCase()) }))
    .toSorted((one, other) => one.distance - other.distance)
  const [best] = ranked
  return best && best.distance <= Math.max(1, Math.floor(name.length / 3)) ? best.field : name
}

/** Number of letters to insert, remove, replace, or swap with the next one. */
function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1
      const steps = [
        (rows[i - 1]?.[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (rows[i - 1]?.[j - 1] as number) + cost,
      ]
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) {
        steps.push((rows[i - 2]?.[j - 2] as number) + 1)
      }
      row.push(Math.min(...steps))
    }
    rows.push(row)
  }
  return rows.at(-1)?.at(-1) as number
}
