import type { ResultColumn } from '../definition/result-columns.ts'
import { breaking, type ContractChange, compatible } from './contract-change.ts'

/** What changes for callers in the rows that they get. */
export function columnChanges(
  before: readonly ResultColumn[],
  after: readonly ResultColumn[],
): ContractChange[] {
  const was = new Map(before.map(({ name, type }) => [name, type]))
  const is = new Map(after.map(({ name, type }) => [name, type]))
  const gone = before.filter(({ name }) => !is.has(name))
  const fresh = after.filter(({ name }) => !was.has(name))
  const renamed = new Map<string, string>()
  for (const { name, type } of gone) {
    const now = after[before.findIndex((column) => column.name === name)]
    if (now && now.type === type && fresh.includes(now)) renamed.set(name, now.name)
  }
  const newNames = new Set(renamed.values())
  const common = before.filter(({ name }) => is.has(name))
  return [
    ...gone.map(({ name: column }) => {
      const now = renamed.get(column)
      return now === undefined
        ? breaking('column_removed', `The column ${column} is gone.`, { column })
        : breaking('column_renamed', `The column ${column} is now called ${now}.`, { column })
    }),
    ...common.flatMap(({ name, type }) => typeChange(name, type, is.get(name) as string)),
    ...fresh
      .filter(({ name }) => !newNames.has(name))
      .map(({ name, type }) =>
        compatible('column_added', `The column ${name} (${type}) is new.`, { column: name }),
      ),
    ...orderChange(before, after),
  ]
}

/** Every format names its columns, so a place is not what callers read by. */
function orderChange(before: readonly ResultColumn[], after: readonly ResultColumn[]): ContractChange[] {
  const places = new Map(after.map(({ name }, place) => [name, place]))
  const kept = before.flatMap(({ name }) => places.get(name) ?? [])
  const moved = kept.some((place, index) => place < (kept[index - 1] ?? -1))
  if (!moved) return []
  return [
    compatible(
      'columns_reordered',
      'The columns come in another order. Each format names them; whoever counts them in CSV will notice.',
    ),
  ]
}

function typeChange(column: string, was: string, is: string): ContractChange[] {
  if (was === is) return []
  const [then, now] = [readAs(was), readAs(is)]
  const message = `The type of the column ${column} is now ${is}, and was ${was}`
  const about = { column }
  if (now.nullable && !then.nullable) {
    return [breaking('column_type_changed', `${message}: it can be null.`, about)]
  }
  if (now.form === then.form || (now.form === 'integer' && then.form === 'number')) {
    return [compatible('column_type_changed', `${message}: in JSON and CSV it reads the same.`, about)]
  }
  return [breaking('column_type_changed', `${message}: it reads differently.`, about)]
}

/** What a value of a type looks like in JSON and CSV; types that have no form of their own are their own. */
function readAs(type: string): { form: string; nullable: boolean } {
  const plain = type.replace(/^LowCardinality\((.*)\)$/, '$1')
  const bare = plain.replace(/^Nullable\((.*)\)$/, '$1')
  const nullable = bare !== plain || /^(?:Nothing|Dynamic|Variant)\b/.test(bare)
  return { form: formOf(bare), nullable }
}

function formOf(type: string): string {
  if (/^U?Int(?:8|16|32|64|128|256)$/.test(type)) return 'integer'
  if (/^(?:BFloat|Float|Decimal)/.test(type)) return 'number'
  if (/^(?:String|FixedString|Enum|UUID|IPv)/.test(type)) return 'text'
  if (/^DateTime64\b/.test(type)) return 'instant'
  if (/^DateTime\b/.test(type)) return 'moment'
  if (/^Date/.test(type)) return 'day'
  return type
}
