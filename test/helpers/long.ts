/** The long form of a test: the same file with more of everything (`npm run test:long`). */
export const LONG = process.env.LONG === '1'
export const shortOrLong = <T>(short: T, long: T): T => (LONG ? long : short)
