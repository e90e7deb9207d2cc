import { Choices } from './choices.tsx'
import { setZone, useZone } from './instants.ts'

/** Whether instants are shown in the zone of the reader or in UTC, on every page. */
export function ZoneChoice() {
  return (
    <Choices
      label="Time zone"
      options={[
        ['local', 'Local time'],
        ['utc', 'UTC'],
      ]}
      value={useZone()}
      onChange={setZone}
    />
  )
}
