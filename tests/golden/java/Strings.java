import java.nio.charset.StandardCharsets;
import java.util.*;

// Prints, for random property names, the order in which HashMap lists them; and hashes of strings made of random bytes.
public class Strings {
  static String hex(byte[] b) { StringBuilder s = new StringBuilder(); for (byte x : b) s.append(String.format("%02x", x)); return s.toString(); }
  public static void main(String[] a) {
    Random r = new Random(20260101);
    String[] known = {"KEYS","TAGS","UNIQ_KEY","WAIT","DELAY","REAL_TOPIC","REAL_QID","CLUSTER","TRAN_MSG","PGROUP","MSG_REGION","TRACE_ON","RETRY_TOPIC","ORIGIN_MESSAGE_ID","RECONSUME_TIME","MIN_OFFSET","MAX_OFFSET","TIMER_OUT_MS","__SHARDINGKEY","\u6807\u7b7e","\ud83d\ude80","INNER_NUM"};
    for (int c = 0; c < 60; c++) {
      int n = c < 40 ? r.nextInt(24) + 1 : r.nextInt(200) + 1;
      // every fifth case: few buckets, so that a bucket reaches eight entries
      boolean crowd = c % 5 == 4 && c < 40;
      List<String> names = new ArrayList<>();
      while (names.size() < n) {
        String s = r.nextInt(3) == 0 ? known[r.nextInt(known.length)] : "p" + Integer.toString(r.nextInt(1 << 28), 36);
        if (crowd) {
          int h = s.hashCode(); h ^= h >>> 16;
          if ((h & 15) != 3 || names.contains(s)) continue;
          // no more than eight of one bucket once there are 64, which would make a tree
          int same = 0;
          for (String t : names) { int g = t.hashCode(); g ^= g >>> 16; if ((g & 63) == (h & 63)) same++; }
          if (same >= 6) continue;
        }
        names.add(s);
      }
      HashMap<String,String> m = new HashMap<>();
      for (String s : names) m.put(s, "v");
      System.out.println("order\t" + String.join(",", names) + "\t" + String.join(",", m.keySet()));
    }
    for (int c = 0; c < 200; c++) {
      byte[] b = new byte[r.nextInt(9)];
      int[] interesting = {0x00,0x41,0x7f,0x80,0x8f,0x90,0x9f,0xa0,0xbf,0xc0,0xc1,0xc2,0xdf,0xe0,0xe1,0xed,0xef,0xf0,0xf1,0xf4,0xf5,0xff};
      for (int i = 0; i < b.length; i++) b[i] = (byte) (r.nextInt(4) == 0 ? r.nextInt(256) : interesting[r.nextInt(interesting.length)]);
      System.out.println("hash\t" + hex(b) + "\t" + new String(b, StandardCharsets.UTF_8).hashCode());
    }
  }
}
