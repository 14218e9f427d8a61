import type { LiveSessionStorage, SessionSnapshot } from 'rejoin'

/**
 * Saves one session from two tabs, round by round: both save at the cursor where the last round ended, in the same
 * moment as far as two tabs have one. The tab that is ready last starts a round in both.
 */
export async function raceSaves(
  storage: Pick<LiveSessionStorage, 'save'>,
  sessionId: string,
  rounds: number,
): Promise<readonly boolean[]> {
  const channel = new BroadcastChannel(`race ${sessionId}`)
  let othersRound = -1
  let changed = () => {}
  channel.onmessage = ({ data }) => {
    othersRound = data
    changed()
  }
  const other = async (round: number) => {
    while (othersRound < round) {
      await new Promise<void>((resolve) => {
        changed = resolve
      })
    }
  }

  const results: boolean[] = []
  // A tab may come late: say that we are here until it has answered.
  const here = setInterval(() => channel.postMessage(0), 20)
  await other(0)
  clearInterval(here)
  for (let round = 0; round < rounds; round++) {
    channel.postMessage(round)
    await other(round)
    results.push(await storage.save(snapshotOf(sessionId, round + 1), round === 0 ? undefined : round))
  }
  channel.postMessage(rounds)
  await other(rounds)
  channel.close()
  return results
}

function snapshotOf(sessionId: string, cursor: number): SessionSnapshot {
  return {
    protocol: 'agentskit.chat.session',
    version: 1,
    sessionId,
    definitionId: 'race',
    definitionRevision: 1,
    updatedAt: new Date().toISOString(),
    cursor,
    confirmations: [],
  }
}
