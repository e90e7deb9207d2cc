import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, at } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { AppliedRule, Rule, RulePreview, Source } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { changeDefinition } from '../definitions/requests.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Failure, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { count, counted } from '../ui/text/format.ts'
import { RuleFields } from './rule-fields.tsx'
import { sourceKind } from './source-kind.ts'

/** What happens to entries before they are stored, and to how many it did. */
export function SourceRules({ source }: { source: Source }) {
  const query = useQuery(queries.sourceRules(source.name))
  const mayChange = useMayChange('sources')
  const [isOpen, setIsOpen] = useState(false)
  return (
    <section className="stack" aria-labelledby="rules">
      <h2 id="rules">Rules</h2>
      <p className="soft">
        Rules drop, sample, remove, redact or mask before an entry is stored, in order. Counted since the
        service started or the rules changed.
      </p>
      <Loaded query={query} what="rules" height={80}>
        {(rules) => (rules.length === 0 ? <p>No rules.</p> : <RuleTable rules={rules} />)}
      </Loaded>
      {mayChange && (
        <p>
          <Button onClick={() => setIsOpen(true)}>Edit rules</Button>
        </p>
      )}
      {isOpen && <RulesDialog source={source} onClose={() => setIsOpen(false)} />}
    </section>
  )
}

function RuleTable({ rules }: { rules: readonly AppliedRule[] }) {
  return (
    <Table label="Rules in order" columns={[['Rule'], ['Of'], ['Dropped or changed', 'right']]}>
      {rules.map(({ rule, origin, entries }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two rules can be the same
        <tr key={index}>
          <td className="mono any-break">{textOf(rule)}</td>
          <td>{origin === 'source' ? 'this source' : 'all sources'}</td>
          <td className="right">{count(entries)}</td>
        </tr>
      ))}
    </Table>
  )
}

const textOf = (rule: Rule) =>
  Object.entries(rule)
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(', ') : value}`)
    .join(' ')

function RulesDialog({ source, onClose }: { source: Source; onClose: () => void }) {
  const [rules, setRules] = useState<readonly Rule[]>(source.rules)
  const save = useMutation({
    mutationFn: () => changeDefinition(sourceKind, source, { rules }),
    onSuccess: () => {
      onClose()
      invalidate('sources')
    },
  })
  const preview = useMutation({
    mutationFn: () => api<RulePreview>(`/api/sources/${at(source.name)}/rules/preview`, { body: { rules } }),
  })
  const change = (changed: readonly Rule[]) => {
    setRules(changed)
    preview.reset()
  }
  return (
    <FormDialog
      title={`Rules of ${source.name}`}
      isWide
      action={save.isPending ? 'Saving …' : 'Save'}
      disabled={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      {rules.map((rule, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two rules can be the same
        <fieldset className="rule" key={index}>
          <legend>Rule {index + 1}</legend>
          <RuleFields rule={rule} onChange={(changed) => change(rules.with(index, changed))} />
          <span className="row">
            <Button
              look="plain icon"
              icon="up"
              aria-label={`Move rule ${index + 1} up`}
              disabled={index === 0}
              onClick={() => change(rules.toSpliced(index - 1, 2, rule, rules[index - 1] as Rule))}
            />
            <Button
              look="plain icon"
              icon="remove"
              aria-label={`Remove rule ${index + 1}`}
              onClick={() => change(rules.toSpliced(index, 1))}
            />
          </span>
        </fieldset>
      ))}
      <div className="row">
        <Button look="small" icon="plus" onClick={() => change([...rules, { drop: '' }])}>
          Add a rule
        </Button>
        <Button look="small" disabled={preview.isPending} onClick={() => preview.mutate()}>
          {preview.isPending ? 'Trying …' : 'Preview'}
        </Button>
      </div>
      {preview.error && <Failure error={preview.error} />}
      {preview.data && <Preview {...preview.data} />}
    </FormDialog>
  )
}

const maxShown = 20

function Preview({ newest, rules, entries }: RulePreview) {
  const dropped = entries.filter(({ after }) => after === null).length
  return (
    <section className="stack" aria-label="Preview">
      <p role="status">
        Of the newest {counted(newest, 'entry', 'entries')}, {count(dropped)} would be dropped and{' '}
        {count(entries.length - dropped)} changed.
        {entries.length > maxShown && ` The first ${maxShown} are shown.`}
      </p>
      {rules.length > 0 && <RuleTable rules={rules} />}
      {entries.length > 0 && (
        <Table label="Entries before and after" columns={[['Before'], ['After']]}>
          {entries.slice(0, maxShown).map(({ before, after }) => (
            <tr key={before.id}>
              <td className="mono any-break">{shown(before)}</td>
              <td className="mono any-break">{after ? shown(after) : <b>dropped</b>}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

const shown = ({ event_message, metadata }: RulePreview['entries'][number]['before']) =>
  `${event_message} ${JSON.stringify(metadata)}`
