import type { Rule } from '../api/shapes.ts'
import { CheckField, SelectField, TextField } from '../ui/fields.tsx'

const starts = {
  drop: { drop: '' },
  sample: { sample: 0.1 },
  remove: { remove: '' },
  redact: { redact: '' },
  mask: { mask: ['email'] },
} as const satisfies Record<string, Rule>

type Action = keyof typeof starts
const actions = Object.keys(starts) as Action[]
const maskNames = ['email', 'ip', 'card', 'jwt', 'bearer'] as const

const search = 'A search, such as path:/health*'
const path = 'A path of metadata, or event_message'

/** The fields of one rule, by what it does. */
export function RuleFields({ rule, onChange }: { rule: Rule; onChange: (rule: Rule) => void }) {
  const action = actions.find((name) => rule[name] !== undefined) ?? 'drop'
  return (
    <>
      <SelectField
        label="Action"
        value={action}
        options={actions.map((name) => [name])}
        onChange={(name) => onChange(starts[name])}
      />
      {action === 'drop' && (
        <TextField
          label="Entries that match"
          className="mono"
          placeholder={search}
          required
          value={rule.drop ?? ''}
          onChange={(drop) => onChange({ drop })}
        />
      )}
      {action === 'sample' && <SampleFields rule={rule} onChange={onChange} />}
      {(action === 'remove' || action === 'redact') && (
        <TextField
          label="Path"
          className="mono"
          placeholder={path}
          required
          value={rule[action] ?? ''}
          onChange={(text) => onChange({ [action]: text })}
        />
      )}
      {action === 'mask' && <MaskFields rule={rule} onChange={onChange} />}
    </>
  )
}

function SampleFields({ rule, onChange }: { rule: Rule; onChange: (rule: Rule) => void }) {
  return (
    <>
      <TextField
        label="Share to keep"
        type="number"
        min={0}
        max={1}
        step="any"
        required
        value={rule.sample ?? ''}
        onChange={(text) => onChange({ ...rule, sample: Number(text) })}
      />
      <TextField
        label="Of entries that match"
        className="mono"
        placeholder="all entries"
        value={rule.where ?? ''}
        onChange={(where) => onChange({ sample: rule.sample ?? 0, ...(where && { where }) })}
      />
    </>
  )
}

function MaskFields({
  rule: { mask = [], in: paths },
  onChange,
}: {
  rule: Rule
  onChange: (rule: Rule) => void
}) {
  const inside = paths && { in: paths }
  return (
    <>
      <span className="row">
        {maskNames.map((name) => (
          <CheckField
            key={name}
            label={name}
            checked={mask.includes(name)}
            onChange={(checked) =>
              onChange({
                mask: maskNames.filter((each) => (each === name ? checked : mask.includes(each))),
                ...inside,
              })
            }
          />
        ))}
      </span>
      <TextField
        label="In"
        className="mono"
        placeholder="event_message, metadata"
        value={paths?.join(',') ?? ''}
        onChange={(text) => onChange({ mask, ...(text && { in: pathsIn(text) }) })}
      />
    </>
  )
}

/** Separated by commas that are not in a quoted key. */
function pathsIn(text: string): string[] {
  const paths = ['']
  let isQuoted = false
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted
    if (character === ',' && !isQuoted) paths.push('')
    else paths.push(`${paths.pop()}${character}`)
  }
  return paths.map((path) => path.trimStart())
}
