import { showInstant, useZone } from '../ui/text/instants.ts'

/** Says which entries counts leave out. */
export function CountedNote({ sinceMs }: { sinceMs: number | undefined }) {
  const zone = useZone()
  if (sinceMs === undefined) return null
  return (
    <p className="faint" role="status">
      Entries before {showInstant(sinceMs, zone, 'seconds')} were not counted in time.
    </p>
  )
}
