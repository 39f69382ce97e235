/** `settings.batch`: the price of batches, and how fast they run. */
import { integer, object, type RawOf } from '../../engine/config/shape.ts'
import type { Document, HostBase, Report } from '../../engine/plugin.ts'
import { parseFactor } from '../billing/discount.ts'
import { BATCH_PRICE } from '../billing/schema.ts'

const BATCH = object(
  'Batches: their price, and how fast they run.',
  {
    price: BATCH_PRICE,
    concurrency: integer('Requests of batches that one process runs at a time.', {
      minimum: 1,
      maximum: 1000,
      default: 16,
      examples: [16],
    }),
  },
  { examples: [{ price: 0.5 }] },
)
export const BATCH_SETTINGS = BATCH.schema
interface Section {
  readonly batch?: RawOf<typeof BATCH>
}

/** `factor`: the part of the price that a line is charged, a decimal from 0 to 1. */
export type BatchSettings = ReturnType<typeof batchSettingsOf>
export const batchSettingsOf = (host: Pick<HostBase, 'section'>) => {
  const { price: factor, concurrency } = BATCH.read(host.section<Section>('settings').batch ?? {})
  return { factor, concurrency }
}

/** Reports a price that has more than nine decimal places. */
export const checkPrice = ({ settings }: Document, report: Report): void => {
  const { price } = BATCH.read((settings as Section | undefined)?.batch ?? {})
  try {
    parseFactor(price)
  } catch {
    const message = 'the price of batches is a decimal from 0 to 1 with at most 9 places'
    report(['settings', 'batch', 'price'], 'PRICE_AMOUNT', message)
  }
}
