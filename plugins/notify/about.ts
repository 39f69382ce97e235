/** The OpenAPI descriptions of the routes that show, change and test the low-balance webhook. */
import type { RouteDescription } from '../../engine/plugin.ts'
import { NOTIFICATIONS, TEST_DELIVERY } from '../rows/work.ts'
import { envelopeOf, json } from '../shapes.ts'

export const ABOUT: Readonly<Record<'show' | 'save' | 'test', RouteDescription>> = {
  show: {
    summary: 'Shows the low-balance webhook and mail address, and the latest deliveries',
    responses: json(envelopeOf(NOTIFICATIONS)),
  },
  save: {
    summary: 'Changes the low-balance webhook and mail address',
    responses: json(envelopeOf(NOTIFICATIONS)),
  },
  test: { summary: 'Sends a test delivery', responses: json(TEST_DELIVERY) },
}
