import type { Replay, ReplayedRequest } from '../api/shapes.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Table } from '../ui/table.tsx'
import { count, counted, milliseconds } from '../ui/text/format.ts'
import { differenceText, isNoteworthy, readsMuchMore, replaySummary } from './replay-summary.ts'

interface ReplayDialogProps {
  replay: Replay
  isPending: boolean
  error: Error | undefined
  onSave: () => void
  onShowValues: () => void
  onClose: () => void
}

const columns = [['Request'], ['Result'], ['Rows'], ['Rows read'], ['Time']] as const

/** What recent requests would get from the draft, and asks whether to save it. */
export function ReplayDialog({ replay, isPending, error, onSave, onShowValues, onClose }: ReplayDialogProps) {
  const { requests, version } = replay
  const [first, rest] = [requests.filter(isNoteworthy), requests.filter((one) => !isNoteworthy(one))]
  const hasValues = requests.some(({ parameters }) => parameters !== undefined)
  return (
    <FormDialog
      title="This change affects recent requests"
      isWide
      action="Save as new version"
      disabled={isPending}
      error={error ?? null}
      onSubmit={onSave}
      onClose={onClose}
    >
      <p>
        {replaySummary(replay)} Each was run with version {version} and with your draft, both with the same{' '}
        <code>@now</code>.
      </p>
      <Table label="Recent requests" columns={columns}>
        {[...first, ...rest].map((request, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: requests have no other name
          <RequestRow key={index} request={request} />
        ))}
      </Table>
      <div className="tabs-line">
        <p className="faint">
          {hasValues
            ? 'Parameters and rows may contain customer data.'
            : 'Parameters and rows of the requests are hidden.'}
        </p>
        {!hasValues && (
          <Button look="small" disabled={isPending} onClick={onShowValues}>
            Show values
          </Button>
        )}
      </div>
    </FormDialog>
  )
}

function RequestRow({ request }: { request: ReplayedRequest }) {
  const { uses, tenant, parameters, project, examples = [], before, after } = request
  const named = Object.entries(parameters ?? {})
  return (
    <>
      <tr>
        <td>
          {counted(uses, 'use')} {tenant && <span className="badge">tenant{project && ` ${project}`}</span>}
          {named.map(([name, value]) => (
            <div key={name} className="mono">
              {name}={value}
            </div>
          ))}
        </td>
        <td>
          <Outcome request={request} />
        </td>
        <td>{change(before.rows, after.rows, count)}</td>
        <td>
          {change(before.rows_read, after.rows_read, count)}{' '}
          {readsMuchMore(request) && <span className="badge warn">much more</span>}
        </td>
        <td>{change(before.duration_ms, after.duration_ms, milliseconds)}</td>
      </tr>
      {examples.length > 0 && (
        <tr>
          <td colSpan={columns.length}>
            <pre className="json-text wrapped">{examples.map(exampleText).join('\n')}</pre>
          </td>
        </tr>
      )}
    </>
  )
}

const badges = {
  same: ['good', 'same rows'],
  different: ['warn', 'different'],
  failed: ['bad', 'fails'],
} as const

function Outcome({ request }: { request: ReplayedRequest }) {
  const { outcome, before, after, unstable } = request
  const [tone, text] = badges[outcome]
  const details = [
    after.error?.message.replace(/\.$/, '') ?? differenceText(request),
    before.error && !after.error ? 'The current version fails' : '',
    unstable ? 'The current version returns different rows each time' : '',
  ].filter((part) => part !== '')
  return (
    <>
      <span className={`badge ${tone}`}>{text}</span> {details.join('. ')}
    </>
  )
}

/** One text if nothing changed. */
function change(before: number | null, after: number | null, format: (value: number) => string): string {
  const [one, other] = [before, after].map((value) => (value === null ? '–' : format(value)))
  return one === other ? `${one}` : `${one} → ${other}`
}

function exampleText({ before, after }: { before: unknown; after: unknown }): string {
  return [
    ...(before === null ? [] : [`- ${JSON.stringify(before)}`]),
    ...(after === null ? [] : [`+ ${JSON.stringify(after)}`]),
  ].join('\n')
}
