/** `settings.batch`: the price of batches, and how fast they run. */
import type { Document, HostBase, Report } from '../../engine/plugin.ts'
import { parseFactor } from '../billing/discount.ts'

export interface BatchSettings {
  /** The part of the price that a line is charged, a decimal from 0 to 1. */
  readonly factor: string
  /** Lines that one process runs at a time. */
  readonly concurrency: number
}
interface Section {
  readonly batch?: { readonly price?: number | string; readonly concurrency?: number }
}
const DEFAULTS = { price: '1', concurrency: 16 }

export const batchSettingsOf = (host: Pick<HostBase, 'section'>): BatchSettings => {
  const { price = DEFAULTS.price, concurrency = DEFAULTS.concurrency } =
    host.section<Section>('settings').batch ?? {}
  return { factor: String(price), concurrency }
}

/** Reports a price that has more than nine decimal places. */
export const checkPrice = ({ settings }: Document, report: Report): void => {
  const { price = DEFAULTS.price } = (settings as Section | undefined)?.batch ?? {}
  try {
    parseFactor(String(price))
  } catch {
    const message = 'the price of batches is a decimal from 0 to 1 with at most 9 places'
    report(['settings', 'batch', 'price'], 'PRICE_AMOUNT', message)
  }
}

export const BATCH_SETTINGS = {
  description: 'Batches: their price, and how fast they run.',
  type: 'object',
  additionalProperties: false,
  properties: {
    price: {
      description: 'The part of the price that a request of a batch is charged.',
      type: ['number', 'string'],
      minimum: 0,
      maximum: 1,
      pattern: '^(?:0(?:\\.\\d{1,9})?|1(?:\\.0{1,9})?)$',
      default: 1,
      examples: [0.5],
    },
    concurrency: {
      description: 'Requests of batches that one process runs at a time.',
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      default: DEFAULTS.concurrency,
      examples: [DEFAULTS.concurrency],
    },
  },
  examples: [{ price: 0.5 }],
}
