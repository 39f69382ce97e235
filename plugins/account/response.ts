/** Responses of the account endpoints: the JSON envelope, exact numbers, no caching. */
import type { Exchange, Json } from '../../engine/plugin.ts'

/** Creates the handler of one route. */
export type ViewFactory<HostPart> = (host: HostPart) => (exchange: Exchange) => Promise<void>

/** Headers of responses that contain data of one account. */
export const PRIVATE = { 'cache-control': 'no-store' }

export const answerSuccess = (
  exchange: Exchange,
  fields: { readonly data: Json; readonly [name: string]: Json },
  status = 200,
): void => {
  exchange.answer(status, { success: true, message: '', ...fields }, PRIVATE)
}

// The runtime has JSON.rawJSON; the type library does not declare it yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): number }

/** A decimal as a JSON number with all digits, without a conversion to float. */
export const exactNumber = (decimal: string | bigint): number => rawJSON(String(decimal))
export const isoTime = (at: unknown): string => new Date(Number(at)).toISOString()
