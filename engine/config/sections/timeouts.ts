/** `timeout:` of upstreams and of routes. */
import { object } from '../shape.ts'
import { time } from './amounts.ts'

export const timeouts = (description: string) =>
  object(
    description,
    {
      connect: time('Until the connection is open.', { examples: ['5s'] }),
      first_byte: time('Until the head of the response.', { examples: ['120s'] }),
      first_content: time(
        'Until the first content of the answer, which role, created and ping events are not: then the next target or key is asked. Default: no limit.',
        { examples: ['20s'] },
      ),
      preamble: time(
        'How long events before the first content are kept back while another target or key is left.',
        { examples: ['5s'] },
      ),
      idle: time('Between two chunks of the response.', { examples: ['60s'] }),
    },
    { examples: [{ connect: '5s', first_byte: '120s', idle: '60s' }] },
  )
