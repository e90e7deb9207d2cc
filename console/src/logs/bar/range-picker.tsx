import { useState } from 'react'
import { FormDialog } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { fromLocalInput, toLocalInput, useZone } from '../../ui/text/instants.ts'
import { rangeText, relativeRanges, type TimeRange } from '../time-range.ts'

interface RangePickerProps {
  range: TimeRange
  onRelative: (range: string) => void
  onAbsolute: (fromMs: number, toMs: number) => void
}

export function RangePicker({ range, onRelative, onAbsolute }: RangePickerProps) {
  const zone = useZone()
  const [open, setOpen] = useState(false)
  const { relative } = range
  const isListed = relativeRanges.some(([key]) => key === relative)
  const own = relative === undefined ? ['absolute', rangeText(range, zone)] : [relative, `Last ${relative}`]
  return (
    <>
      <SelectField
        label="Time"
        value={relative ?? 'absolute'}
        options={[
          ...relativeRanges.map(([key, text]) => [key, text] as const),
          ...(isListed ? [] : [own as [string, string]]),
          ['choose', 'Custom range …'],
        ]}
        onChange={(value) => (value === 'choose' ? setOpen(true) : onRelative(value))}
      />
      {open && <AbsoluteRange range={range} onAbsolute={onAbsolute} onClose={() => setOpen(false)} />}
    </>
  )
}

function AbsoluteRange({
  range,
  onAbsolute,
  onClose,
}: Pick<RangePickerProps, 'range' | 'onAbsolute'> & { onClose: () => void }) {
  const zone = useZone()
  const [from, setFrom] = useState(toLocalInput(range.fromMs, zone))
  const [to, setTo] = useState(toLocalInput(range.toMs, zone))
  const [fromMs, toMs] = [fromLocalInput(from, zone), fromLocalInput(to, zone)]
  const isValid = fromMs !== undefined && toMs !== undefined && fromMs < toMs
  const submit = () => {
    if (!isValid) return
    onAbsolute(fromMs, toMs)
    onClose()
  }
  const input = { type: 'datetime-local', step: 1 }
  return (
    <FormDialog
      title="Custom time range"
      action="Apply"
      disabled={!isValid}
      onSubmit={submit}
      onClose={onClose}
    >
      <div className="form-grid">
        <TextField
          {...input}
          label={`From, ${zone === 'utc' ? 'UTC' : 'local time'}`}
          value={from}
          onChange={setFrom}
        />
        <TextField {...input} label="To" value={to} onChange={setTo} />
      </div>
    </FormDialog>
  )
}
