import { Choices } from '../ui/choices.tsx'
import { useAddress } from '../ui/use-address.ts'

const ranges = [
  ['5min', '5 min', 'last 5 minutes'],
  ['1hr', '1 h', 'last hour'],
  ['1day', '1 day', 'last day'],
  ['7day', '7 days', 'last 7 days'],
] as const

export type Range = (typeof ranges)[number][0]

const standard: Range = '1hr'

/** The range that the address holds in this parameter, so that a link shows the same time. */
export function useRange(parameter: string): [Range, (range: Range) => void] {
  const [address, setAddress] = useAddress()
  const wanted = address.get(parameter)
  const range = ranges.find(([key]) => key === wanted)?.[0] ?? standard
  return [range, (chosen) => setAddress({ [parameter]: chosen === standard ? undefined : chosen })]
}

export function RangeChoice({ range, onChange }: { range: Range; onChange: (range: Range) => void }) {
  const options = ranges.map(([key, text]) => [key, text] as const)
  return <Choices label="Time range" options={options} value={range} onChange={onChange} />
}

/** `last hour` */
export const rangeWords = (range: Range): string => ranges.find(([key]) => key === range)?.[2] ?? ''

/** The page that explains an endpoint's figures of this range. */
export function usageLink(endpoint: string, range: Range, list?: 'failed'): string {
  const query = new URLSearchParams({
    _tab: 'usage',
    ...(range !== standard && { _range: range }),
    ...(list && { _requests: list }),
  })
  return `/console/endpoints/${encodeURIComponent(endpoint)}?${query}`
}
