/** The OpenAPI descriptions of the routes that show, change and test the low-balance webhook. */
import type { RouteDescription } from '../../engine/plugin.ts'
import {
  boolean,
  described,
  envelopeOf,
  integer,
  json,
  list,
  nullable,
  object,
  text,
  time,
} from '../shapes.ts'

const delivery = object({
  id: text,
  state: text,
  attempts: integer,
  created: time,
  next: nullable(time),
  status: nullable(integer),
  message: text,
})
const settings = object({
  url: nullable(text),
  threshold: nullable(described('Units of the currency.', text)),
  secret: nullable(text),
  disabled: nullable(time),
  deliveries: list(delivery),
  can_mail: described('Whether this gateway sends mails.', boolean),
  mail: nullable(text),
  mail_confirmed: described('Whether mails about the balance go to the address.', boolean),
  mails: list(delivery),
})

export const ABOUT: Readonly<Record<'show' | 'save' | 'test', RouteDescription>> = {
  show: {
    summary: 'Shows the low-balance webhook and mail address, and the latest deliveries',
    responses: json(envelopeOf(settings)),
  },
  save: {
    summary: 'Changes the low-balance webhook and mail address',
    responses: json(envelopeOf(settings)),
  },
  test: { summary: 'Sends a test delivery', responses: json(envelopeOf(delivery)) },
}
