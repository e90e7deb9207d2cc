/** Stored tokens and definitions are known from `open` on. */
export type Phase = 'starting' | 'open' | 'stopping'
