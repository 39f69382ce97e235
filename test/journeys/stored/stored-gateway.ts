/** The gateway and upstreams that all tests of this folder share. */
import t from 'tap'
import { startStored } from '../../helpers/gateway/stored-responses.ts'

export const {
  upstream,
  gateway,
  ownClient,
  otherClient,
  rows,
  lastRequest: sentBody,
} = await startStored(t)
t.beforeEach(() => upstream.forget())
