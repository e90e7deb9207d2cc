import type { Random } from './random.ts'

/** A project of the demo. */
export interface DemoProject {
  ref: string
  /** Part of all traffic. */
  share: number
  /** How much quieter its nights are; 0 is no difference. */
  rhythm: number
  /** Hours that its users are away from UTC. */
  utcOffset: number
  tables: readonly string[]
  functions: readonly DemoFunction[]
}

export interface DemoFunction {
  name: string
  weight: number
  medianMs: number
  errorRate: number
}

/** From a busy one with users everywhere to a quiet one with users in one place. */
export const projects: readonly DemoProject[] = [
  {
    ref: 'acmeshopprodabcdefgh',
    share: 0.68,
    rhythm: 0.3,
    utcOffset: -2,
    tables: ['orders', 'customers', 'products', 'carts', 'reviews'],
    functions: [
      { name: 'checkout', weight: 5, medianMs: 180, errorRate: 0.03 },
      { name: 'thumbnail', weight: 3, medianMs: 420, errorRate: 0.01 },
      { name: 'send-receipt', weight: 2, medianMs: 260, errorRate: 0.02 },
      { name: 'stripe-webhook', weight: 1, medianMs: 95, errorRate: 0.08 },
    ],
  },
  {
    ref: 'bluebirdnotesqwertyu',
    share: 0.24,
    rhythm: 0.7,
    utcOffset: 1,
    tables: ['notes', 'notebooks', 'tags'],
    functions: [
      { name: 'summarise', weight: 3, medianMs: 1_900, errorRate: 0.05 },
      { name: 'export-pdf', weight: 1, medianMs: 850, errorRate: 0.02 },
    ],
  },
  {
    ref: 'cityguideprojectzxcv',
    share: 0.08,
    rhythm: 0.8,
    utcOffset: 9,
    tables: ['places', 'tours'],
    functions: [{ name: 'nearby', weight: 1, medianMs: 60, errorRate: 0.01 }],
  },
]

export const userAgents: readonly (readonly [string, number])[] = [
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
    30,
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
    24,
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
    14,
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0', 6],
  ['Dart/3.9 (dart:io)', 8],
  ['okhttp/5.1.0', 6],
  ['node', 9],
  ['python-httpx/0.28.1', 2],
  ['curl/8.15.0', 1],
]

export interface Region {
  country: string
  city: string
  colo: string
  region: string
}

export const regions: readonly (readonly [Region, number])[] = [
  [{ country: 'US', city: 'Ashburn', colo: 'IAD', region: 'us-east-1' }, 34],
  [{ country: 'DE', city: 'Frankfurt', colo: 'FRA', region: 'eu-central-1' }, 18],
  [{ country: 'GB', city: 'London', colo: 'LHR', region: 'eu-west-2' }, 12],
  [{ country: 'BR', city: 'Sao Paulo', colo: 'GRU', region: 'sa-east-1' }, 10],
  [{ country: 'IN', city: 'Mumbai', colo: 'BOM', region: 'ap-south-1' }, 12],
  [{ country: 'JP', city: 'Tokyo', colo: 'NRT', region: 'ap-northeast-1' }, 9],
  [{ country: 'AU', city: 'Sydney', colo: 'SYD', region: 'ap-southeast-2' }, 5],
]

/** One of the addresses that are set aside for documentation. */
export function addressOf(random: Random): string {
  return `${random.pick(['192.0.2', '198.51.100', '203.0.113'])}.${random.whole(1, 254)}`
}

/** Now and then something is wrong for an hour. */
export function troubleIn(hour: number): boolean {
  return (Math.imul(hour, 2_654_435_761) >>> 0) % 61 === 0
}

/** What an entry is made from. */
export interface Moment {
  project: DemoProject
  random: Random
  /** Whether this is an hour of trouble. */
  trouble: boolean
}

/** What is sent, but for the timestamp. */
export type DemoEntry = Record<string, unknown> & { event_message: string }
export type EntryMaker = (moment: Moment) => DemoEntry
