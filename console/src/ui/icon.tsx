import { useBrand } from './brand/brand.ts'

const paths = {
  overview: 'M2.500 8.500h4v5h-4zM9.500 2.500h4v11h-4zM2.500 2.500h4v3h-4z',
  endpoints: 'M5.500 3.500 1.800 8l3.700 4.500M10.500 3.500 14.200 8l-3.700 4.500',
  playground: 'M2.500 3.500 6.500 7.500l-4 4M8 12.500h5.500',
  logs: 'M2 3.500h12M2 8h12M2 12.500h7',
  dashboards: 'M2.500 2.500h11v4h-11zM2.500 9h4.500v4.500h-4.500zM9.500 9h4v4.500h-4z',
  alerts: 'M8 2a4 4 0 0 0-4 4v3l-1.500 2.500h11L12 9V6a4 4 0 0 0-4-4zM6.500 13.500a1.500 1.500 0 0 0 3 0',
  sources:
    'M2.500 4c0-1.100 2.500-2 5.500-2s5.500.9 5.500 2-2.500 2-5.500 2-5.500-.9-5.500-2zM2.500 4v8c0 1.100 2.500 2 5.500 2s5.500-.9 5.500-2V4M2.500 8c0 1.100 2.500 2 5.500 2s5.500-.9 5.500-2',
  tokens:
    'M10 6a3.500 3.500 0 1 0-3 3.460L8.500 11H10v1.500h1.500V14H14v-2.500L9.800 7.300A3.500 3.500 0 0 0 10 6zM6 5.500v.01',
  people:
    'M6 2.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5zM1.500 13.500c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4M10.500 2.800a2.500 2.500 0 0 1 0 4.400M12 9.800c1.500.5 2.500 1.800 2.500 3.700',
  moon: 'M13.500 9.500A5.500 5.500 0 0 1 6.500 2.500a5.500 5.500 0 1 0 7 7z',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.500v1M8 13.500v1M1.500 8h1M13.500 8h1M3.400 3.400l.7.7M11.900 11.900l.7.7M3.400 12.600l.7-.7M11.900 4.100l.7-.7',
  leave: 'M6 2.500H3.500v11H6M10.500 5l3 3-3 3M13.500 8h-7',
  run: 'M4.500 2.800v10.400L13 8z',
  reload: 'M13 8a5 5 0 1 1-1.500-3.540L13 6M13 2.500V6H9.500',
  copy: 'M5.500 5.500v-3h8v8h-3M2.500 5.500h8v8h-8z',
  done: 'M2.500 8.500 6 12l7.500-8',
  search: 'M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.300 10.300l3.200 3.200',
  help: 'M8 1.800a6.200 6.200 0 1 0 0 12.400A6.200 6.200 0 0 0 8 1.800zM6.200 6.300a1.900 1.900 0 1 1 2.700 1.700c-.6.3-.9.7-.9 1.300v.2M8 11.500v.01',
  book: 'M8 4c-1.500-1.200-3.500-1.500-5.500-1.500v10c2 0 4 .3 5.500 1.500 1.500-1.200 3.500-1.500 5.500-1.500v-10C11.500 2.500 9.500 2.800 8 4zM8 4v10',
  plus: 'M8 3v10M3 8h10',
  remove: 'M4 4l8 8M12 4l-8 8',
  closed: 'M6 3.500 10.500 8 6 12.500',
  open: 'M3.500 6 8 10.500 12.500 6',
  up: 'M3.500 10 8 5.500 12.500 10',
  column: 'M2.500 2.500h11v11h-11zM6.200 2.500v11M9.800 2.500v11',
  menu: 'M2 4h12M2 8h12M2 12h12',
  pause: 'M5.500 3v10M10.500 3v10',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  )
}

/** The logo of the owner, or of the product. */
export function Mark() {
  if (useBrand()?.logo) return <img className="logo" src="/console/logo" alt="" />
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0f766e" />
      <path
        d="M16 6c4 5.200 6.600 8.600 6.600 12.200a6.600 6.600 0 0 1-13.200 0C9.400 14.600 12 11.200 16 6z"
        fill="#fff"
      />
    </svg>
  )
}
