/** Events of streams: their type is their name, too. */
import type { Fields } from '../fields.ts'

export const eventText = (type: string, fields: Fields): string =>
  `event: ${type}\ndata: ${JSON.stringify({ event_type: type, ...fields })}\n\n`
