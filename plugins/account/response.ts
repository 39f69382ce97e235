/** How the account endpoints answer: the envelope, exact numbers, nothing that a cache may keep. */
import type { Exchange, Json } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'

/** Makes the handler of one route. */
export type ViewFactory<Ground> = (ground: Ground) => (exchange: Exchange) => Promise<void>

/** Whose answer it is, is nobody else's. */
export const PRIVATE = { 'cache-control': 'no-store' }

export const succeed = (
  exchange: Exchange,
  fields: { readonly data: Json; readonly [name: string]: Json },
  status = 200,
): void => {
  exchange.answer(status, { success: true, message: '', ...fields }, PRIVATE)
}

// JavaScript has it; the library of types does not know it yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): Json }

/** A decimal as a JSON number with every digit: no float stands between the ledger and the reader. */
export const exact = (decimal: string | bigint): Json => rawJSON(String(decimal))
export const money = (nanos: bigint): Json => exact(printMoney(nanos))
export const instant = (at: unknown): string => new Date(Number(at)).toISOString()
