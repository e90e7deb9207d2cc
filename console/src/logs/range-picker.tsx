import { useId, useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { fromLocalInput, toLocalInput, useZone } from '../ui/instants.ts'
import { rangeText, relativeRanges, type TimeRange } from './time-range.ts'

export interface RangePickerProps {
  range: TimeRange
  onRelative: (range: string) => void
  onAbsolute: (fromMs: number, toMs: number) => void
}

export function RangePicker({ range, onRelative, onAbsolute }: RangePickerProps) {
  const id = useId()
  const zone = useZone()
  const [open, setOpen] = useState(false)
  const known = relativeRanges.some(([key]) => key === range.relative)
  return (
    <div className="field">
      <label htmlFor={id}>Time</label>
      <select
        id={id}
        className="input"
        value={range.relative ?? 'absolute'}
        onChange={(event) =>
          event.target.value === 'choose' ? setOpen(true) : onRelative(event.target.value)
        }
      >
        {relativeRanges.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
        {!known && range.relative !== undefined && (
          <option value={range.relative}>Last {range.relative}</option>
        )}
        {range.relative === undefined && <option value="absolute">{rangeText(range, zone)}</option>}
        <option value="choose">Choose …</option>
      </select>
      {open && <Absolute range={range} onAbsolute={onAbsolute} onClose={() => setOpen(false)} />}
    </div>
  )
}

function Absolute({
  range,
  onAbsolute,
  onClose,
}: Pick<RangePickerProps, 'range' | 'onAbsolute'> & { onClose: () => void }) {
  const id = useId()
  const zone = useZone()
  const [from, setFrom] = useState(toLocalInput(range.fromMs, zone))
  const [to, setTo] = useState(toLocalInput(range.toMs, zone))
  const [fromMs, toMs] = [fromLocalInput(from, zone), fromLocalInput(to, zone)]
  const valid = fromMs !== undefined && toMs !== undefined && fromMs < toMs
  return (
    <Dialog title="Entries between" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (!valid) return
          onAbsolute(fromMs, toMs)
          onClose()
        }}
      >
        <div className="form-grid">
          <div className="field">
            <label htmlFor={`${id}-from`}>From, {zone === 'utc' ? 'UTC' : 'local time'}</label>
            <input
              id={`${id}-from`}
              className="input"
              type="datetime-local"
              step={1}
              value={from}
              onChange={(event) => setFrom(event.target.value)}
            />
          </div>
          <div className="field">
            <label htmlFor={`${id}-to`}>To</label>
            <input
              id={`${id}-to`}
              className="input"
              type="datetime-local"
              step={1}
              value={to}
              onChange={(event) => setTo(event.target.value)}
            />
          </div>
        </div>
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={!valid}>
            Show
          </button>
        </div>
      </form>
    </Dialog>
  )
}
